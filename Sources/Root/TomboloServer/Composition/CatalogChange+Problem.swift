import SyncModel
import SyncProgram

extension CatalogChange {
    /// Throws an error with each conflict and its remedy when the change cannot be applied.
    func requireCompatible() throws(ConfigurationError) {
        guard !isCompatible else { return }
        throw ConfigurationError(
            "the models do not fit the stored ones: \(conflicts.map(\.problem).joined(separator: "; "))",
            advice: conflicts.map { "\($0.name): \($0.remedy)" }.joined(separator: "; "))
    }
}
