"""stub"""
from pathlib import Path
from mmalign.data.dataset import Dataset
def read_folder(path, options): raise NotImplementedError
