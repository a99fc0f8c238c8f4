"""Projects as files and from store to store: an index moves with its vectors, without a model."""

from dowse.transfer.exporting import Exported, export_project
from dowse.transfer.importing import Imported, import_project
from dowse.transfer.moving import Moved, move_project

__all__ = ["Exported", "Imported", "Moved", "export_project", "import_project", "move_project"]
