// The types that the rules of a server name, so that a test can write rules without importing a whole server.

@_exported public import struct SyncAuthority.Principal
@_exported public import struct SyncModel.FieldName
@_exported public import struct SyncServerRules.ModelWrite
@_exported public import struct SyncServerRules.ProposedTransaction
@_exported public import struct SyncServerRules.ProposedWrite
@_exported public import struct SyncServerRules.ServerApplication
@_exported public import struct SyncServerRules.ServerRecord
@_exported public import struct SyncServerRules.ServerRejection
