public import SyncAuthority
import SyncCore
public import SyncModel

/// The limits of a server that takes less than its devices write and send.
public struct TightLimits: Hashable, Sendable {
    /// Maximum size of the values in one push, in bytes.
    public var pushBytes: Int
    public var pushTransactions: Int
    /// Maximum number of rows or changes in one page.
    public var pageRows: Int
    public var pageBytes: Int
    public var transactionsPerWrite: Int
    /// Maximum length of a request's body, in bytes. Every request fits except a push with many or long values.
    public var bodyBytes: Int
    /// Maximum length of a text, in bytes. Devices take longer ones.
    public var textBytes: Int

    public init(
        pushBytes: Int, pushTransactions: Int, pageRows: Int, pageBytes: Int, transactionsPerWrite: Int, bodyBytes: Int,
        textBytes: Int
    ) {
        self.pushBytes = pushBytes
        self.pushTransactions = pushTransactions
        self.pageRows = pageRows
        self.pageBytes = pageBytes
        self.transactionsPerWrite = transactionsPerWrite
        self.bodyBytes = bodyBytes
        self.textBytes = textBytes
    }

    /// Returns the limits that a generator draws.
    static func drawn(_ random: inout SeededRandom) -> TightLimits {
        TightLimits(
            pushBytes: random.within(400...6_000), pushTransactions: random.within(1...6),
            pageRows: random.within(1...8), pageBytes: random.within(100...1_000),
            transactionsPerWrite: random.within(1...4), bodyBytes: random.within(4_000...9_000),
            textBytes: random.within(40...200))
    }

    /// Returns the policy with these limits.
    public func limiting(_ policy: AuthorityPolicy) -> AuthorityPolicy {
        var policy = policy
        policy.limits = ServerLimits(pushBytes: pushBytes, pushTransactions: pushTransactions, pageRows: pageRows)
        policy.pageBytes = pageBytes
        policy.transactionsPerWrite = transactionsPerWrite
        return policy
    }

    /// Returns the models with these limits.
    public func limiting(_ catalog: SchemaCatalog) -> SchemaCatalog {
        SchemaCatalog(
            catalog.models.map { model in
                ModelSchema(
                    collection: model.collection,
                    fields: model.fields.map { field in
                        guard field.type == .text, field.maximumBytes > textBytes else { return field }
                        return .text(
                            field.name, required: field.isRequired, bytes: field.minimumBytes...textBytes,
                            merge: field.mergeRule)
                    }, deleteRule: model.deleteRule)
            })
    }

    /// Returns the bounds on messages with these limits. Devices do not know how long a body may be.
    func limiting(_ bounds: MessageBounds) -> MessageBounds {
        MessageBounds(pageRows: pageRows, pageBytes: pageBytes, pushTransactions: pushTransactions, pushBytes: .max)
    }

    /// Returns the limits of a device's push that follow from these limits.
    func limiting(_ batch: BatchLimit) -> BatchLimit {
        var batch = batch
        batch.bytes = min(batch.bytes, pushBytes)
        return batch
    }

    /// Whether a transaction exceeds these limits.
    func exclude(_ transaction: Transaction) -> Bool {
        transaction.byteCount > pushBytes || transaction.mutations.contains { !longFields(of: $0).isEmpty }
    }

    /// Whether these limits are the true reason of a rejection.
    func justify(_ rejection: Rejection, of transaction: Transaction) -> Bool {
        switch rejection.code {
        case .tooLarge: return transaction.byteCount > pushBytes
        case .invalidValue:
            guard let position = rejection.mutation, transaction.mutations.indices.contains(position),
                let field = rejection.fields.first
            else { return false }
            return longFields(of: transaction.mutations[position]).contains(field)
        default: return false
        }
    }

    /// Returns the fields to which a mutation gives a text that is too long.
    private func longFields(of mutation: Mutation) -> [FieldName] {
        mutation.patch.filter { entry in
            if case .text(let text) = entry.value { text.utf8.count > textBytes } else { false }
        }.map(\.field)
    }
}

/// The program of a server and its configuration, which each of its processes reads at its start.
public struct ServerSetting: Hashable, Sendable {
    /// The build of the program.
    public var build = WorldBuild.current
    /// The limits that are smaller than those of the devices; nil for the usual ones.
    public var limits: TightLimits?

    /// The limits on what each account may store.
    public var accounts = AccountLimits.unlimited

    /// The models that the server knows.
    public var catalog: SchemaCatalog { limits?.limiting(build.catalog) ?? build.catalog }

    public init() {}
}
