// Re-exports everything that a client program needs.

@_exported public import Models
@_exported public import SyncBootstrap
@_exported public import SyncConcurrency
@_exported public import SyncCore
@_exported public import SyncModel
@_exported public import SyncProgram
