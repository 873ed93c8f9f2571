public import SyncAuthority
public import SyncModel
public import TomboloModeling

/// The models and the rules of the application that a server serves.
///
///     await SyncServerProgram.main(models: [Todo.self, Person.self]) { server in
///         server.authenticate { request in try await accounts.principal(bearing: request.bearerToken) }
///         server.authorize(Todo.self) { write in write.record.map { $0.author == write.principal.name } ?? true }
///         server.validate(Todo.self) { write in
///             guard write.proposed?.title != "spam" else {
///                 throw ServerRejection(code: "spam", message: "not here", fields: ["title"])
///             }
///         }
///     }
///
/// Without an application's rules, a server accepts the tokens of its token file, and JSON Web Tokens if it has keys
/// for them. The members that the operator has added to a space may use it. While `default` has no members, every
/// principal may read and write there.
public struct ServerApplication: Sendable {
    /// The models to serve.
    public var catalog: SchemaCatalog
    /// Returns the field rule with a name, for models that are read from a file; nil for an unknown name.
    public var rule: @Sendable (_ name: String) -> FieldRule?
    /// Maximum time for one call of `authenticate`, and for all rules for one transaction together. After that, the
    /// server tells the client to try again later.
    public var timeout = Duration.seconds(5)

    /// Returns the principal of a token; nil if the token file and the keys of JSON Web Tokens decide.
    package var authentication: (@Sendable (AuthenticationRequest) async throws -> Principal?)?
    /// The rights in spaces; nil without `authorizeSpaces(_:)`.
    package var access: AccessRules?
    var writeRules: [CollectionName: [@Sendable (ProposedWrite) async throws -> Bool]] = [:]
    var writeChecks: [CollectionName: [@Sendable (ProposedWrite) async throws -> Void]] = [:]
    var validations: [@Sendable (ProposedTransaction) async throws -> Void] = []
    /// The first error in the models of typed rules. If it is set, the server does not start.
    package var problem: ModelDeclarationError?

    /// Creates an application with these models, and without rules for tokens, spaces, or writes.
    ///
    /// - Parameter rule: returns the field rule with a name. Defaults to the rules of the models themselves.
    public init(catalog: SchemaCatalog, rule: (@Sendable (_ name: String) -> FieldRule?)? = nil) {
        self.catalog = catalog
        let own = catalog.models.flatMap(\.fields).compactMap(\.rule)
        self.rule = rule ?? { name in own.first { $0.name == name } }
    }

    /// Creates an application with these models, and without rules for tokens, spaces, or writes.
    ///
    /// - Throws: `ModelDeclarationError`, which names the model, the field, what was expected, and what to do.
    public init(models: [any Model.Type]) throws(ModelDeclarationError) {
        self.init(catalog: try ModelCatalog(models).schemas)
    }

    /// Whether there are rules for pushes.
    package var hasRules: Bool { !writeRules.isEmpty || !writeChecks.isEmpty || !validations.isEmpty }

    /// A collection that has a rule and is not served, so that the rule would protect nothing; nil if there is none.
    package var strayRule: CollectionName? {
        let ruled = Set(writeRules.keys).union(writeChecks.keys)
        return ruled.subtracting(catalog.models.map(\.collection)).min()
    }

    /// Sets the function that finds the principal of a bearer token, in place of the token file. A server that also has
    /// keys for JSON Web Tokens does not start.
    ///
    /// The server calls it for each request, and repeatedly while an event stream is open, so it should cache slow
    /// lookups.
    ///
    /// - Parameter body: returns nil for a token that is unknown or no longer valid. When it throws or takes too long,
    ///   the server responds with status 503, and the client tries again later.
    public mutating func authenticate(
        _ body: @escaping @Sendable (AuthenticationRequest) async throws -> Principal?
    ) {
        authentication = body
    }

    /// Sets the function that decides who may read and write in which space. Without it, the members that the
    /// operator has added to a space decide. While `default` has no members, every principal may read and write there.
    ///
    /// A space is the unit of reading: a device holds all records of a space, or none. If the body does not allow a
    /// principal to write in a space, the server rejects the transaction as `forbidden`.
    ///
    /// - Parameter body: returns whether the principal has this access to the space. The server calls it often, even
    ///   while it holds a lock of the database, so it must return immediately, from memory. A principal that may write
    ///   must also be allowed to read.
    public mutating func authorizeSpaces(
        _ body: @escaping @Sendable (Principal, SpaceID, AccessRules.Access) -> Bool
    ) {
        access = AccessRules(
            [.init(principals: .everyone, spaces: .all, access: .readAndWrite)],
            check: AccessCheck(name: "application", allows: body))
    }

    /// Adds a rule for who may create, change, or delete which records of a collection. All rules of a collection must
    /// allow a change.
    ///
    /// - Parameter body: returns false to reject the transaction as `forbidden`. When it throws or takes too long, the
    ///   server commits neither this transaction nor those after it, and the client tries again later.
    public mutating func authorize(
        _ collection: CollectionName, write body: @escaping @Sendable (ProposedWrite) async throws -> Bool
    ) {
        writeRules[collection, default: []].append(body)
    }

    /// Adds a check of whole transactions as devices have sent them. The check runs before the server commits the
    /// transaction.
    ///
    /// A device may claim any former value of a field (`FieldEdit.before`), and the merge may keep other values than it
    /// sends. A check of stored values takes a `ProposedTransaction`.
    ///
    /// - Parameter body: throws a `ServerRejection` to reject the transaction. When it throws another error or takes
    ///   too long, the server commits neither this transaction nor those after it, and the client tries again later.
    public mutating func validate(_ body: @escaping @Sendable (Transaction, Principal) async throws -> Void) {
        validations.append { proposed in try await body(proposed.transaction, proposed.principal) }
    }

    /// Adds a check of whole transactions, with the records before and after each change. The check runs before the
    /// server commits the transaction. It must not trap: clients choose the values, so numbers need a `.range`.
    ///
    ///     server.validate { transaction in
    ///         let growth = try transaction.writes(of: Purse.self).reduce(0) { sum, write in
    ///             sum + (write.proposed?.amount ?? 0) - (write.before?.amount ?? 0)
    ///         }
    ///         guard growth == 0 else { throw ServerRejection(code: "unbalanced", message: "the sum would change") }
    ///     }
    ///
    /// - Parameter body: throws a `ServerRejection` to reject the transaction. When it throws another error or takes
    ///   too long, the server commits neither this transaction nor those after it, and the client tries again later.
    public mutating func validate(_ body: @escaping @Sendable (ProposedTransaction) async throws -> Void) {
        validations.append(body)
    }
}

/// A request whose principal is not known yet.
public struct AuthenticationRequest: Sendable {
    /// The token in the header `Authorization`.
    public let bearerToken: String

    package init(bearerToken: String) {
        self.bearerToken = bearerToken
    }
}

/// An application's reason for rejecting a transaction.
public struct ServerRejection: Error, Hashable, Sendable {
    /// A word for programs, such as `not_your_turn`. The server keeps the first 64 Unicode scalars. The codes
    /// `unknown_collection`, `unknown_field`, `depends_on_rejected`, `lost`, `record_deleted`, and `duplicate_record`
    /// have other meanings on devices, so the server adds the prefix `rule_` to them.
    public let code: String
    /// A sentence for people: what was wrong, and what was expected. The server keeps the first 1,000 Unicode scalars.
    public let message: String
    /// The position of the mutation at fault; nil when no single mutation is at fault.
    public let mutation: Int?
    /// The fields at fault, in the record of the mutation at fault. A rule for transactions has to set `mutation`, too,
    /// unless the transaction has only one: otherwise, devices show no fields.
    public let fields: [FieldName]

    /// Creates a reason, which the device shows to its user.
    public init(code: String, message: String, mutation: Int? = nil, fields: [FieldName] = []) {
        self.code = code
        self.message = message
        self.mutation = mutation
        self.fields = fields
    }
}
