// One import gives a client program everything that it needs. Types that only some programs need are exported one by
// one, so that general names of the engine do not reach the application.

@_exported public import SyncObjects
@_exported public import TomboloModeling

// Types of the parts that `ClientOptions` can replace.
@_exported public import struct SyncBootstrap.ClientRecipes
@_exported public import struct SyncCore.EngineRuntime
@_exported public import protocol SyncCore.Reachability
@_exported public import protocol SyncCore.RemoteTransport
// Names in declarations of models, in queries, and in errors.
@_exported public import enum SyncModel.DeleteRule
@_exported public import struct SyncModel.FieldRule
@_exported public import enum SyncModel.MergeRule
@_exported public import struct SyncModel.RecordCursor
@_exported public import struct SyncModel.RecordID
@_exported public import struct SyncModel.RejectionCode
@_exported public import struct SyncModel.SpaceID
