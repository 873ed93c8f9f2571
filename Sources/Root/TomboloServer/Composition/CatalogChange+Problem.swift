import SyncModel
import SyncProgram

extension CatalogChange {
    /// - Throws: when the change cannot be applied, with each conflict and what to do about it.
    func requireCompatible() throws(ConfigurationError) {
        guard !isCompatible else { return }
        throw ConfigurationError(
            "the catalog does not fit the stored one: \(conflicts.map(\.problem).joined(separator: "; "))",
            advice: conflicts.map { "\($0.name): \($0.remedy)" }.joined(separator: "; "))
    }
}
