public import SyncModel

/// All collections of the community.
public enum CommunityCatalog {
    public static let catalog = SchemaCatalog([UserSchema.schema, AvatarSchema.schema, ProfileSchema.schema])
}
