public import SyncAuthority
public import SyncModel
public import TomboloModeling

/// The part of a server that its application brings: its models, and its own rules.
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
/// Without an application's rules, a server takes the tokens of its token file, and everyone who has one reads and writes in the space
/// `default`.
public struct ServerApplication: Sendable {
    /// The models to serve.
    public var catalog: SchemaCatalog
    /// Returns the field rule of a name, for models that are read from a file; nil for a name that it does not know.
    public var rule: @Sendable (_ name: String) -> FieldRule?
    /// Longest time that one call of `authenticate`, or all rules for one transaction, may take. After it, the client is told to try
    /// again later.
    public var timeout = Duration.seconds(5)

    /// Finds out who holds a token; nil leaves that to the token file.
    var authentication: (@Sendable (AuthenticationRequest) async throws -> Principal?)?
    var access: AccessRules = .everyoneInDefaultSpace
    var writeRules: [CollectionName: [@Sendable (ProposedWrite) async throws -> Bool]] = [:]
    var writeChecks: [CollectionName: [@Sendable (ProposedWrite) async throws -> Void]] = [:]
    var validations: [@Sendable (Transaction, Principal) async throws -> Void] = []
    /// The first error in the models of typed rules. The server does not start with it.
    var problem: ModelDeclarationError?

    /// - Parameter rule: defaults to the rules of the models themselves.
    public init(catalog: SchemaCatalog, rule: (@Sendable (_ name: String) -> FieldRule?)? = nil) {
        self.catalog = catalog
        let own = catalog.models.flatMap(\.fields).compactMap(\.rule)
        self.rule = rule ?? { name in own.first { $0.name == name } }
    }

    /// - Throws: `ModelDeclarationError`, which names the model, the field, what was expected, and what to do.
    public init(models: [any Model.Type]) throws(ModelDeclarationError) {
        self.init(catalog: try ModelCatalog(models).schemas)
    }

    /// Whether there are rules that a push must be checked against.
    var hasRules: Bool { !writeRules.isEmpty || !writeChecks.isEmpty || !validations.isEmpty }

    /// Whether there are rules for the records of a collection.
    func judges(_ collection: CollectionName) -> Bool {
        writeRules[collection] != nil || writeChecks[collection] != nil
    }

    /// Finds out who holds a bearer token, in place of the token file.
    ///
    /// Called for each request, and again and again while an event stream is open: cache what takes long.
    ///
    /// - Parameter body: returns nil for a token that is unknown or no longer good. When it throws or takes too long, the request is
    ///   answered with 503, and the client tries again later.
    public mutating func authenticate(
        _ body: @escaping @Sendable (AuthenticationRequest) async throws -> Principal?
    ) {
        authentication = body
    }

    /// Decides who may read and write in which space, in place of the rule that everyone may in the space `default`.
    ///
    /// A space is the unit of reading: a device holds all records of a space, or none. What the body refuses to write is rejected as
    /// `forbidden`.
    ///
    /// - Parameter body: asked often, also while the database is locked: answer at once, from memory. Whoever may write must be
    ///   allowed to read.
    public mutating func authorizeSpaces(
        _ body: @escaping @Sendable (Principal, SpaceID, AccessRules.Access) -> Bool
    ) {
        access = AccessRules(
            [.init(principals: .everyone, spaces: .all, access: .readAndWrite)],
            check: AccessCheck(name: "application", allows: body))
    }

    /// Decides who may create, change, or delete which records of a collection. All bodies of a collection must agree.
    ///
    /// - Parameter body: returns false to reject the transaction as `forbidden`. When it throws or takes too long, nothing of the push
    ///   is carried out, and the client tries again later.
    public mutating func authorize(
        _ collection: CollectionName, write body: @escaping @Sendable (ProposedWrite) async throws -> Bool
    ) {
        writeRules[collection, default: []].append(body)
    }

    /// Checks whole transactions, before they are carried out.
    ///
    /// - Parameter body: throws a `ServerRejection` to reject the transaction. Any other error, or too long a time, rejects nothing: the
    ///   client tries again later.
    public mutating func validate(_ body: @escaping @Sendable (Transaction, Principal) async throws -> Void) {
        validations.append(body)
    }
}

/// A request whose sender is not known yet.
public struct AuthenticationRequest: Sendable {
    /// The token in the header `Authorization`.
    public let bearerToken: String
}

/// A mutation that somebody wants to make.
public struct ProposedWrite: Sendable {
    /// The account that wants to make the change.
    public let principal: Principal
    /// The space of the record.
    public let space: SpaceID
    /// The change, as the device sent it.
    public let mutation: Mutation
    /// The record as it is before the push; nil when there is none yet, or none that the principal may see.
    public let record: ServerRecord?
    /// The record as the push would leave it here, if no other device had changed it; nil after a delete.
    public let proposed: ServerRecord?
}

/// A record with its values by name.
public struct ServerRecord: Sendable {
    /// The id of the record.
    public let id: RecordID
    /// The version of the last commit that changed the record; zero for a record that does not exist yet.
    public let version: Version
    let uid: UID
    private var values: Patch

    init(_ record: Record, _ schema: ModelSchema) {
        id = record.id
        version = record.version
        uid = record.uid
        values = record.patch(schema: schema)
    }

    init(creating id: RecordID, _ values: Patch) {
        self.id = id
        self.values = values
        version = .zero
        uid = .none
    }

    func changed(by patch: Patch) -> ServerRecord {
        var changed = self
        for (field, value) in patch { changed.values.set(field, to: value) }
        return changed
    }

    /// The value of a field; null when it has none or there is no such field.
    public subscript(field: FieldName) -> FieldValue { values[field] ?? .null }
}

/// The reason of an application to reject a transaction.
public struct ServerRejection: Error, Hashable, Sendable {
    /// A word for programs, such as `not_your_turn`.
    public let code: String
    /// A sentence for people: what was wrong, and what was expected.
    public let message: String
    /// The position of the mutation at fault, when there is one.
    public let mutation: Int?
    /// The fields at fault.
    public let fields: [FieldName]

    /// Creates a reason, which the device shows to its user.
    public init(code: String, message: String, mutation: Int? = nil, fields: [FieldName] = []) {
        self.code = code
        self.message = message
        self.mutation = mutation
        self.fields = fields
    }
}
