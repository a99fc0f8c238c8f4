"""What many rooms know about text."""
