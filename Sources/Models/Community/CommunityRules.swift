public import SyncModel

/// The rules of the community's models, for writers that go past the live objects: command lines and importers.
public enum CommunityRules {
    /// The values as they are to be written: usernames composed, everything checked.
    ///
    /// - Throws: `invalidValue`, naming the field and what was expected.
    public static func prepared(_ patch: Patch, for collection: CollectionName) throws(ModelFailure) -> Patch {
        var patch = patch
        if collection == UserSchema.schema.collection, case .text(let name)? = patch[UserSchema.username.name] {
            patch.set(UserSchema.username.name, to: .text(Username.normalised(name)))
        }
        for kind in [UserSchema.kind, AvatarSchema.kind, ProfileSchema.kind] where kind.collection == collection {
            try kind.check(patch)
        }
        return patch
    }
}
