"""The forms that frameworks read images in: a module for each, which the converter calls.

An image's label is the place of its class folder's name among the sorted names, from 0, in every
form: the number that readers of image folders give it.
"""
