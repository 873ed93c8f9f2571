// One import gives a server program the server, the declarations of models, and the types that its rules name.

@_exported public import TomboloModeling

@_exported public import struct SyncAuthority.Principal
@_exported public import enum SyncModel.DeleteRule
@_exported public import struct SyncModel.FieldName
@_exported public import struct SyncModel.FieldRule
@_exported public import enum SyncModel.MergeRule
@_exported public import struct SyncModel.RecordID
@_exported public import struct SyncModel.SpaceID
@_exported public import struct SyncServerRules.AuthenticationRequest
@_exported public import struct SyncServerRules.ModelWrite
@_exported public import struct SyncServerRules.ProposedTransaction
@_exported public import struct SyncServerRules.ProposedWrite
@_exported public import struct SyncServerRules.ServerApplication
@_exported public import struct SyncServerRules.ServerRecord
@_exported public import struct SyncServerRules.ServerRejection
