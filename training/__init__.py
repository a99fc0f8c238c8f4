"""How the two models that dowse can use by default are trained; see docs/models.md."""
