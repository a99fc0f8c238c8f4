"""From a path to what its files say: which files belong, what their text is, when they change."""

from dowse.read.load import Unreadable, load
from dowse.read.options import ReadOptions
from dowse.read.roots import Root, path_of
from dowse.read.secrets import redact
from dowse.read.walk import walk
from dowse.read.watch import watch

__all__ = ["ReadOptions", "Root", "Unreadable", "load", "path_of", "redact", "walk", "watch"]
