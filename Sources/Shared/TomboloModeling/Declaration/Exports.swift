// Names that a declaration needs. Types are exported one by one, so that general names of the model do not reach the
// application.

@_exported public import enum SyncModel.DeleteRule
@_exported public import struct SyncModel.FieldRule
@_exported public import enum SyncModel.MergeRule
