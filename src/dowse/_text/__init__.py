"""Text → terms, sentences, scripts and dates: what several packages need to know about text."""
