"""How sure a result is: the evidence, the fitted model, the label and the reason."""
