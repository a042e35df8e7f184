"""What is compiled, in a folder of its own: who looks for a sampler by its name imports all files of the package."""
