//! The process in the dataset-manager pod.
