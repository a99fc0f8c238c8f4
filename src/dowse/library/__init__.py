"""dowse for Python programs: `from dowse import Dowse, AsyncDowse, AllDowse`."""
