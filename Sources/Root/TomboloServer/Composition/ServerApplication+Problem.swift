import SyncModel
import SyncProgram
import SyncServerRules

extension ServerApplication {
    /// The error of a rule for a collection that is not served, and that would therefore protect nothing; nil if there
    /// is none.
    var problemOfRules: ConfigurationError? {
        guard let unknown = strayRule else { return nil }
        let names = catalog.models.map(\.collection.rawValue)
        let nearest = NearestName.suggestion(for: unknown.rawValue, among: names)
        return ConfigurationError(
            "there is a rule for the collection \(unknown), which is not among the models of this server",
            advice: nearest.map { "did you mean \($0)?" } ?? "add its model, or remove the rule")
    }
}
