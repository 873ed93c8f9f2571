public import SyncModel

/// The rules of the community's models, for writers that go past the live objects: command lines and importers.
public enum CommunityRules {
    /// The values as they are to be written: names composed, everything checked.
    ///
    /// - Throws: `invalidValue`, naming the field and what was expected.
    public static func prepared(_ patch: Patch, for collection: CollectionName) throws(ModelFailure) -> Patch {
        guard let schema = CommunityCatalog.catalog[collection] else { return patch }
        let patch = schema.normalized(patch)
        do throws(InvalidValue) {
            try schema.check(updating: patch)
        } catch {
            throw ModelFailure(error)
        }
        return patch
    }
}
