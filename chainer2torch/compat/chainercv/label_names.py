"""The names of the classes of data sets that ChainerCV knows. Sources: chainercv.datasets.voc_bbox_label_names, ..."""

voc_bbox_label_names = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)
voc_semantic_segmentation_label_names = ("background", *voc_bbox_label_names)
