"""How other machines are contacted, and how long and large their answers may be."""
