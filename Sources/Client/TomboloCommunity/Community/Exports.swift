// A program that imports the community also uses live objects and the declarations of models.

@_exported public import SyncObjects
@_exported public import TomboloModeling
