"""What the files of this benchmark share; the name of the folder is benchopt's."""
