public import SyncModel
import TomboloModeling

extension FieldRule {
    /// Returns the rule that a catalog file refers to by name; nil if the name is unknown.
    ///
    /// The names are `name`, `address`, and `url(SCHEME,…)`.
    public static func named(_ name: String) -> FieldRule? {
        if let rule = [FieldRule.name, .address].first(where: { $0.name == name }) { return rule }
        guard name.hasPrefix("url("), name.hasSuffix(")") else { return nil }
        let schemes = name.dropFirst("url(".count).dropLast().split(separator: ",", omittingEmptySubsequences: false)
        let isWellFormed = schemes.allSatisfy { scheme in
            !scheme.isEmpty && scheme.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789+-.".utf8.contains($0) }
        }
        return isWellFormed ? .url(schemes: schemes.map(String.init)) : nil
    }
}
