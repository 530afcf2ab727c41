"""What the inventory says about validations that the cluster runs itself."""
