import SyncCore
import SyncModel

extension TransportConformance {
    var pullChecks: [Check] {
        [
            Check("a commit is shown once, behind the cursor, with the version of its outcome") { world in
                let cursor = try await world.end()
                let record = world.makeRecord()
                let client = world.makeClient()
                let created = try await world.apply(client, [world.create(record)])[0]
                let updated = try await world.apply(
                    client, [world.update(record, to: "new", seen: created)], from: 1)[0]
                let commits = try await world.commits(after: cursor, of: [record])
                try world.expect(
                    commits.map(\.version) == [created, updated],
                    "commits \(commits.map(\.version)); expected \([created, updated])")
                guard
                    case .created(let uid, let values)? = commits[0].changes.first(where: { $0.id == record })?.effect,
                    case .updated(let patch)? = commits[1].changes.first(where: { $0.id == record })?.effect
                else { throw world.violation("\(commits); expected a creation and an update") }
                try world.expect(uid.isValid, "uid \(uid)")
                for (field, value) in world.subject.values(0) {
                    try world.expect(values[field] == value, "\(field) is not as it was pushed")
                }
                try world.expect(
                    patch == [world.subject.textField: .text("new")], "\(patch); expected only the changed field")
            },
            Check("a repeated push commits nothing again") { world in
                let cursor = try await world.end()
                let record = world.makeRecord()
                let request = try world.request(world.makeClient(), [world.create(record)])
                for _ in 0..<3 { _ = try await world.push(request) }
                let commits = try await world.commits(after: cursor, of: [record])
                try world.expect(commits.count == 1, "\(commits.count) commits; expected one")
            },
            Check("paged by one, the feed shows every commit once and in order") { world in
                let cursor = try await world.end()
                let records = (0..<7).map { _ in world.makeRecord() }
                let versions = try await world.apply(
                    world.makeClient(), records.enumerated().map { world.create($1, $0) })
                let commits = try await world.commits(after: cursor, of: Set(records), limit: 1)
                try world.expect(
                    commits.map(\.version) == versions, "commits \(commits.map(\.version)); expected \(versions)")
            },
            Check("the same cursor gives the same commits again") { world in
                let cursor = try await world.end()
                let record = world.makeRecord()
                _ = try await world.apply(world.makeClient(), [world.create(record)])
                let first = try await world.commits(after: cursor, of: [record])
                let again = try await world.commits(after: cursor, of: [record])
                try world.expect(first == again && first.count == 1, "\(again) after \(first)")
            },
            Check("a delete is shown, and the record does not come back") { world in
                let cursor = try await world.end()
                let record = world.makeRecord()
                let client = world.makeClient()
                let created = try await world.apply(client, [world.create(record)])[0]
                _ = try await world.apply(client, [world.delete(record, seen: created)], from: 1)
                let commits = try await world.commits(after: cursor, of: [record])
                try world.expect(
                    commits.last?.changes.contains { $0.id == record && $0.effect == .deleted } == true,
                    "\(commits); expected a deletion at the end")
                try world.expect(try await world.fetch(record) == nil, "the deleted record can be fetched")
                let late = try await world.push(
                    world.request(client, [world.update(record, to: "late", seen: created)], from: 2))[0]
                guard case .rejected(let rejection) = late, rejection.code == .recordDeleted else {
                    throw world.violation("\(late); expected rejected as \(RejectionCode.recordDeleted)")
                }
                let again = try await world.push(
                    world.request(world.makeClient(), [world.create(record)]))[0]
                guard case .rejected = again else { throw world.violation("a deleted id was given again") }
            },
            Check("a cursor that the server did not make is refused") { world in
                let request = PullRequest(
                    space: world.subject.space, cursor: Cursor(rawValue: "' OR 1=1 --"), limit: 1)
                let response: PullResponse
                do throws(TransportError) {
                    response = try await world.transport.pull(request)
                } catch {
                    try world.expect(error.code == .refused, "\(error.code): \(error); expected refused")
                    return
                }
                if case .page = response { throw world.violation("a page for a cursor made up") }
            },
        ]
    }

    var snapshotChecks: [Check] {
        [
            Check("a snapshot in small pages shows every record once, and the feed goes on behind it") { world in
                let client = world.makeClient()
                let records = (0..<5).map { _ in world.makeRecord() }
                let created = try await world.apply(client, records.enumerated().map { world.create($1, $0) })
                _ = try await world.apply(client, [world.delete(records[2], seen: created[2])], from: 5)
                var seen: [RecordID: Int] = [:]
                var isFirst = true
                var isComplete = false
                var cursor: Cursor?
                var pages = 0
                while !isComplete {
                    let page = try await world.pull(after: cursor, limit: 2)
                    guard case .snapshot(let groups, let first, let last) = page.content else {
                        throw world.violation("commits before the end of the snapshot")
                    }
                    try world.expect(first == isFirst, "isFirst is \(first) on page \(pages)")
                    for group in groups where group.collection == world.subject.collection {
                        for record in group.records { seen[record.id, default: 0] += 1 }
                    }
                    isFirst = false
                    isComplete = last
                    cursor = page.cursor
                    pages += 1
                    try world.expect(pages < TransportWorld.pages, "\(pages) pages, and still more")
                }
                try world.expect(seen.values.allSatisfy { $0 == 1 }, "a record was shown twice")
                for (index, record) in records.enumerated() {
                    try world.expect(
                        (seen[record] != nil) == (index != 2),
                        "record \(index) is \(seen[record] == nil ? "not " : "")shown")
                }
                let later = world.makeRecord()
                _ = try await world.apply(client, [world.create(later)], from: 6)
                guard let cursor else { throw world.violation("no cursor") }
                let commits = try await world.commits(after: cursor, of: [later])
                try world.expect(commits.count == 1, "the feed behind the snapshot does not show the next commit")
            }
        ]
    }

    var fetchChecks: [Check] {
        [
            Check("a record is fetched by its id and by its uid, and a missing one is not found") { world in
                let record = world.makeRecord()
                _ = try await world.apply(world.makeClient(), [world.create(record)])
                guard let byID = try await world.fetch(record) else { throw world.violation("not found by its id") }
                let byUID = try await world.transport.fetch(
                    FetchRequest(
                        space: world.subject.space, collection: world.subject.collection, key: .uid(byID.uid)))
                try world.expect(byUID == byID, "\(String(describing: byUID)) by uid, \(byID) by id")
                try world.expect(try await world.fetch(world.makeRecord()) == nil, "a record that nobody made")
                let none = try await world.transport.fetch(
                    FetchRequest(
                        space: world.subject.space, collection: world.subject.collection, key: .uid(UID(Int64.max))))
                try world.expect(none == nil, "a record under a uid that nobody gave")
            }
        ]
    }

    var hintChecks: [Check] {
        [
            Check("a commit is announced to every listener") { world in
                let client = world.makeClient()
                let first = try await world.apply(client, [world.create(world.makeRecord())])
                // A stream begins with the heads of its spaces, so a client that has received them is subscribed.
                var awaited = first.last ?? .zero
                var hasWrittenMore = false
                for try await hint in world.transport.hints(for: [world.subject.space]) {
                    try world.expect(hint.space == world.subject.space, "a hint for \(hint.space)")
                    guard hint.head >= awaited else { continue }
                    if hasWrittenMore { return }
                    let second = try await world.apply(client, [world.create(world.makeRecord())], from: 1)
                    awaited = second.last ?? .zero
                    hasWrittenMore = true
                }
                throw world.violation("the stream ended without a hint")
            },
            Check("a stream begins with the heads of its spaces") { world in
                let client = world.makeClient()
                _ = try await world.transport.push(
                    world.request(client, [world.create(world.makeRecord())], from: 0))
                for try await hint in world.transport.hints(for: [world.subject.space]) {
                    try world.expect(hint.space == world.subject.space, "a hint for \(hint.space)")
                    return try world.expect(hint.head > .zero, "the first hint says \(hint.head)")
                }
                throw world.violation("the stream ended without a hint")
            },
        ]
    }
}
