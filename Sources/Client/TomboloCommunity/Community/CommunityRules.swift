public import SyncModel
public import SyncObjects

/// The rules of the community's models, for writers that bypass live objects, such as command lines and importers.
public enum CommunityRules {
    /// Returns the values in the form in which they are written: normalized and checked. Values of any other collection
    /// are returned unchanged.
    ///
    /// - Throws: `invalidValue` with the field and what was expected.
    public static func prepared(_ patch: Patch, for collection: CollectionName) throws(ModelError) -> Patch {
        guard let schema = CommunityCatalog.catalog[collection] else { return patch }
        let patch = schema.normalized(patch)
        do throws(InvalidValueError) {
            try schema.check(updating: patch)
        } catch {
            throw ModelError(error)
        }
        return patch
    }
}
