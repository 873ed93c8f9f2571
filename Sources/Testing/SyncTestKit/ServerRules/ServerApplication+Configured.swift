import Logging
import SyncModel
import SyncServerRules
import TomboloModeling

extension ServerApplication {
    /// Returns an application with rules.
    ///
    /// - Throws: `ModelDeclarationError` when a declaration has an error, or a rule is for a model that is not in the
    ///   list.
    static func configured(
        _ models: [any Model.Type], _ rules: (inout ServerApplication) -> Void
    ) throws(ModelDeclarationError) -> ServerApplication {
        var application = try ServerApplication(models: models)
        try application.configure(rules)
        return application
    }

    /// Adds rules, and checks that each belongs to a model of this application.
    mutating func configure(_ rules: (inout ServerApplication) -> Void) throws(ModelDeclarationError) {
        rules(&self)
        if let problem { throw problem }
        if let stray = strayRule {
            throw ModelDeclarationError(
                .unknownModel, collection: stray.rawValue,
                "there is a rule for the collection \(stray), which is not among the models of the server")
        }
    }
}

extension Logger {
    /// A logger that writes nothing.
    static let silent = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
}
