"""The systems that EquiVAE is compared with: its own networks, other models, one loop."""
