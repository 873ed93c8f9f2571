// A program that imports the community uses its objects and declarations, too.

@_exported public import SyncObjects
@_exported public import TomboloModeling
