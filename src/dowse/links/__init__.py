"""Where a link or a typed reference leads: to which document, and to which of its lines."""
