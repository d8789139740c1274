"""Read any supported format."""

from pathlib import Path

from mmalign.data.dataset import Dataset
from mmalign.data.native import is_native, read_native
from mmalign.data.readers import long_csv, meld_csv, npz
from mmalign.data.readers.folders import read_folder
from mmalign.data.readers.kinds import Kind, kind_of
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.pickled import read_pickled
from mmalign.data.validation import validate
from mmalign.errors import DataError, located

UNFORESEEN = (
    *(ArithmeticError, LookupError, TypeError, ValueError, AttributeError),
    *(OSError, MemoryError, RecursionError),
)


def read(path: Path, options: ReadOptions) -> Dataset:
    """Read any supported format; feature values are as in the file.

    Raises:
        DataError: If the path does not exist, or is of no supported format, or is damaged.
    """
    if not path.exists():
        raise DataError("there is no such file or directory", file=path, fix="Check the path.")
    try:
        with located(file=path):
            if is_native(path):
                options.require_no_label()
                options.require_no_vectors()
                return read_native(path)
            if path.is_dir():
                return validate(read_folder(path, options, read_file))
            return validate(read_file(path, options))
    except UNFORESEEN as error:
        # The last resort for a file that is damaged in a way no reader foresaw.
        raise DataError(
            f"unexpected content ({type(error).__name__}: {str(error)[:200]})",
            file=path,
            fix="If the file is sound, please report this.",
        ) from error


def read_file(file: Path, options: ReadOptions) -> Dataset:
    """Read one file.

    Raises:
        DataError: If it is of no supported format, or is damaged.
    """
    match kind_of(file):
        case Kind.PICKLE:
            return read_pickled(file, options)
        case Kind.NPZ:
            return npz.read_files(file, options)
        case Kind.CSV:
            if long_csv.recognises(file):
                return long_csv.read_file(file, options)
            return meld_csv.read_files([file], options)
        case Kind.HDF5:
            raise DataError(
                "one .csd file holds one modality or the labels",
                file=file,
                fix="Give the folder, with the labels' .csd file in it.",
            )
        case Kind.NPY:
            raise DataError(
                "one .npy file is one array, not a dataset",
                file=file,
                fix="Give a folder of arrays with a labels.csv; docs/own-data.md shows how.",
            )
        case Kind.TORCH:
            raise DataError(
                "a torch file: word vectors, perhaps, but no clips",
                file=file,
                fix="Give the folder or pickle with the clips, and this file as --vectors.",
            )
