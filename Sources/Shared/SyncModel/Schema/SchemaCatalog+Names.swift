extension SchemaCatalog {
    /// Why the database of a device cannot have tables for these models, as a sentence; nil when it can.
    ///
    /// A server refuses such models too, because no device could sync with it.
    public var nameProblem: String? {
        let names = Set(models.map(\.collection.rawValue))
        for model in models {
            let name = model.collection.rawValue
            for prefix in ["sync_", "sqlite_"] where name.hasPrefix(prefix) {
                return "a collection may not be called \(name): \(prefix) is reserved"
            }
            if names.contains(name + "_shown") {
                return "a collection may not be called \(name)_shown: that is the view of \(name)"
            }
            for field in model.fields where field.name.rawValue.hasPrefix("sync_") {
                return "a field may not be called \(name).\(field.name): sync_ is reserved"
            }
        }
        return nil
    }
}
