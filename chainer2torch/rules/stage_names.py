"""The stages in which a project can be migrated part by part (``migrate --only``)."""

# in the order in which they migrate best; every rule table belongs to one of them
STAGES = ("training", "data", "models")
# native: plain PyTorch, with differences that are declared; faithful: Chainer's own interfaces over PyTorch
STYLES = ("native", "faithful")
# what a native Trainer program runs on: a loop over an ExtensionsManager, or an Ignite engine
TRAINERS = ("ppe", "ignite")
