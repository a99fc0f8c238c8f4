"""Settings, presets, requests, and what a folder may decide."""
