"""Projects as files: an index goes out with its vectors, and comes in where no model is."""

from dowse.transfer.exporting import Exported, export_project
from dowse.transfer.importing import Imported, import_project

__all__ = ["Exported", "Imported", "export_project", "import_project"]
