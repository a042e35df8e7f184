"""Speed and quality, side by side with the alternatives, in one run on one machine."""
