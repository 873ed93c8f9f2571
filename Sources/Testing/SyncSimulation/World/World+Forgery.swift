import SyncAuthority
import SyncCore
import SyncModel
import SyncWire

// Forged pushes from a stranger with a valid account.
extension World {
    /// Pushes a forged transaction to the server, without the network.
    ///
    /// A push under the client id of a device must have no effect (I21). False claims about the versions that the
    /// stranger has seen, or about the time of the edit, must not overwrite a value without a notice. The other oracles
    /// check the effects of false claims.
    func forge(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, stream: "forgery")
        let victim = random.chance(0.5) ? history.knownClient(&random) : nil
        let own = ClientID.make(at: server.wallClock.now, random: &random)
        // A restored server may have forgotten the owner of the client id.
        let isForeign = victim != nil && !wasRestored
        let client = isForeign ? victim ?? own : own
        guard let transaction = try forgedTransaction(&random) else { return }
        let ages: [Duration?] = [nil, .zero, .seconds(1), SimulationLimits.day * 3_650]
        let other = victim ?? ClientID.make(at: server.wallClock.now, random: &random)
        let former = FormerNumber(
            identity: ClientIdentity(client: other, incarnation: 0), number: .first,
            hash: try PayloadHash(of: transaction))
        let numbered = NumberedTransaction(
            number: .first, hash: try PayloadHash(of: transaction), transaction: transaction,
            age: ages[random.below(ages.count)], formerNumbers: random.chance(0.5) ? [former] : [])
        let request = PushRequest(
            identity: ClientIdentity(client: client, incarnation: 0), epoch: try epochOfServer(), acknowledged: .first,
            transactions: [numbered])
        let call = ServerRequest.push(request)
        let stranger = AccessOracle.reader
        let bytes = try parts.wire(.current).encode(call)
        let response = server.disk.withoutFaults {
            server.receive(bytes, from: stranger.name, as: Caller(owner: stranger, bearer: stranger))
        }
        simulation.note(
            "takes a forged push\(isForeign ? " with a foreign client id" : "")", by: "server", as: .fault)
        guard isForeign, let response,
            case .push(.answered)? = try? parts.wire(.current).decodeResponse(response, to: call)
        else {
            return
        }
        throw Violation(.I21, "the server takes a push of \(stranger.name) under \(client), which is another's")
    }

    /// Returns an edit or a delete of a record that a random device shows. It has an arbitrary stamp, and claims to
    /// have seen either everything or nothing. Returns nil when the device shows no record or is down.
    private func forgedTransaction(_ random: inout SeededRandom) throws -> Transaction? {
        let (place, isDelete) = (random.below(devices.count), random.chance(0.2))
        let (seen, time) = (random.chance(0.5) ? Version(.max) : .zero, random.within(-90...90))
        let text = "forged \(random.next())"
        guard let store = devices[place].store else { return nil }
        return try devices[place].disk.withoutFaults {
            let query = RecordQuery("customer")
            let count = try store.count(matching: query)
            guard count > 0 else { return nil }
            let offset = random.below(count)
            guard
                let record = try store.records(matching: RecordQuery("customer", limit: 1, offset: offset)).first,
                let space = try store.space(of: "customer", record.id)
            else { return nil }
            let wall = server.wallClock.now.advanced(by: SimulationLimits.day * time)
            return Transaction(
                space: space,
                mutations: [
                    Mutation(
                        collection: "customer", record: record.id, time: HybridTime(wall: wall),
                        intent: isDelete
                            ? .delete(seen: seen)
                            : .update([
                                FieldEdit(field: "name", value: .text(text), before: record.values[0], seen: seen)
                            ]))
                ])
        }
    }
}
