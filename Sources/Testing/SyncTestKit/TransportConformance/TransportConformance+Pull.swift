import SyncCore
import SyncModel

extension TransportConformance {
    var pullChecks: [Check] {
        [
            Check("a commit is shown once, behind the cursor, with the version of its outcome") { fixture in
                let cursor = try await fixture.end()
                let record = fixture.makeRecord()
                let client = fixture.makeClient()
                let created = try await fixture.apply(client, [fixture.create(record)])[0]
                let updated = try await fixture.apply(
                    client, [fixture.update(record, to: "new", seen: created)], from: 1)[0]
                let commits = try await fixture.commits(after: cursor, of: [record])
                try fixture.expect(
                    commits.map(\.version) == [created, updated],
                    "commits \(commits.map(\.version)); expected \([created, updated])")
                guard
                    case .created(let uid, let values)? = commits[0].changes.first(where: { $0.id == record })?.effect,
                    case .updated(let patch)? = commits[1].changes.first(where: { $0.id == record })?.effect
                else { throw fixture.violation("\(commits); expected a creation and an update") }
                try fixture.expect(uid.isValid, "uid \(uid)")
                for (field, value) in fixture.subject.values(0) {
                    try fixture.expect(values[field] == value, "\(field) is not as it was pushed")
                }
                try fixture.expect(
                    patch == [fixture.subject.textField: .text("new")], "\(patch); expected only the changed field")
            },
            Check("a repeated push commits nothing again") { fixture in
                let cursor = try await fixture.end()
                let record = fixture.makeRecord()
                let request = try fixture.request(fixture.makeClient(), [fixture.create(record)])
                for _ in 0..<3 { _ = try await fixture.push(request) }
                let commits = try await fixture.commits(after: cursor, of: [record])
                try fixture.expect(commits.count == 1, "\(commits.count) commits; expected one")
            },
            Check("paged by one, the feed shows every commit once and in order") { fixture in
                let cursor = try await fixture.end()
                let records = (0..<7).map { _ in fixture.makeRecord() }
                let versions = try await fixture.apply(
                    fixture.makeClient(), records.enumerated().map { fixture.create($1, $0) })
                let commits = try await fixture.commits(after: cursor, of: Set(records), limit: 1)
                try fixture.expect(
                    commits.map(\.version) == versions, "commits \(commits.map(\.version)); expected \(versions)")
            },
            Check("the same cursor gives the same commits again") { fixture in
                let cursor = try await fixture.end()
                let record = fixture.makeRecord()
                _ = try await fixture.apply(fixture.makeClient(), [fixture.create(record)])
                let first = try await fixture.commits(after: cursor, of: [record])
                let again = try await fixture.commits(after: cursor, of: [record])
                try fixture.expect(first == again && first.count == 1, "\(again) after \(first)")
            },
            Check("a delete is shown, and the record does not come back") { fixture in
                let cursor = try await fixture.end()
                let record = fixture.makeRecord()
                let client = fixture.makeClient()
                let created = try await fixture.apply(client, [fixture.create(record)])[0]
                _ = try await fixture.apply(client, [fixture.delete(record, seen: created)], from: 1)
                let commits = try await fixture.commits(after: cursor, of: [record])
                try fixture.expect(
                    commits.last?.changes.contains { $0.id == record && $0.effect == .deleted } == true,
                    "\(commits); expected a deletion at the end")
                try fixture.expect(try await fixture.fetch(record) == nil, "the deleted record can be fetched")
                let late = try await fixture.push(
                    fixture.request(client, [fixture.update(record, to: "late", seen: created)], from: 2))[0]
                guard case .rejected(let rejection) = late, rejection.code == .recordDeleted else {
                    throw fixture.violation("\(late); expected rejected as \(RejectionCode.recordDeleted)")
                }
                let again = try await fixture.push(
                    fixture.request(fixture.makeClient(), [fixture.create(record)]))[0]
                guard case .rejected = again else { throw fixture.violation("a deleted id was given again") }
            },
            Check("a cursor that the server did not make is refused") { fixture in
                let request = PullRequest(
                    space: fixture.subject.space, cursor: Cursor(rawValue: "' OR 1=1 --"), limit: 1)
                let response: PullResponse
                do throws(TransportError) {
                    response = try await fixture.transport.pull(request)
                } catch {
                    try fixture.expect(error.code == .refused, "\(error.code): \(error); expected refused")
                    return
                }
                if case .page = response { throw fixture.violation("a page for a cursor made up") }
            },
        ]
    }

    var snapshotChecks: [Check] {
        [
            Check("a snapshot in small pages shows every record once, and the feed goes on behind it") { fixture in
                let client = fixture.makeClient()
                let records = (0..<5).map { _ in fixture.makeRecord() }
                let created = try await fixture.apply(client, records.enumerated().map { fixture.create($1, $0) })
                _ = try await fixture.apply(client, [fixture.delete(records[2], seen: created[2])], from: 5)
                var seen: [RecordID: Int] = [:]
                var isFirst = true
                var isComplete = false
                var cursor: Cursor?
                var pages = 0
                while !isComplete {
                    let page = try await fixture.pull(after: cursor, limit: 2)
                    guard case .snapshot(let groups, let first, let last) = page.content else {
                        throw fixture.violation("commits before the end of the snapshot")
                    }
                    try fixture.expect(first == isFirst, "isFirst is \(first) on page \(pages)")
                    for group in groups where group.collection == fixture.subject.collection {
                        for record in group.records { seen[record.id, default: 0] += 1 }
                    }
                    isFirst = false
                    isComplete = last
                    cursor = page.cursor
                    pages += 1
                    try fixture.expect(pages < TransportFixture.pages, "\(pages) pages, and still more")
                }
                try fixture.expect(seen.values.allSatisfy { $0 == 1 }, "a record was shown twice")
                for (index, record) in records.enumerated() {
                    try fixture.expect(
                        (seen[record] != nil) == (index != 2),
                        "record \(index) is \(seen[record] == nil ? "not " : "")shown")
                }
                let later = fixture.makeRecord()
                _ = try await fixture.apply(client, [fixture.create(later)], from: 6)
                guard let cursor else { throw fixture.violation("no cursor") }
                let commits = try await fixture.commits(after: cursor, of: [later])
                try fixture.expect(commits.count == 1, "the feed behind the snapshot does not show the next commit")
            }
        ]
    }

    var fetchChecks: [Check] {
        [
            Check("a record is fetched by its id and by its uid, and a missing one is not found") { fixture in
                let record = fixture.makeRecord()
                _ = try await fixture.apply(fixture.makeClient(), [fixture.create(record)])
                guard let byID = try await fixture.fetch(record) else { throw fixture.violation("not found by its id") }
                let byUID = try await fixture.transport.fetch(
                    FetchRequest(
                        space: fixture.subject.space, collection: fixture.subject.collection, key: .uid(byID.uid)))
                try fixture.expect(byUID == byID, "\(String(describing: byUID)) by uid, \(byID) by id")
                try fixture.expect(try await fixture.fetch(fixture.makeRecord()) == nil, "a record that nobody made")
                let none = try await fixture.transport.fetch(
                    FetchRequest(
                        space: fixture.subject.space, collection: fixture.subject.collection, key: .uid(UID(Int64.max)))
                )
                try fixture.expect(none == nil, "a record under a uid that nobody gave")
            }
        ]
    }

    var hintChecks: [Check] {
        [
            Check("a commit is announced to every listener") { fixture in
                let client = fixture.makeClient()
                let first = try await fixture.apply(client, [fixture.create(fixture.makeRecord())])
                // A stream begins with the heads of its spaces, so a client that has received them is subscribed.
                var awaited = first.last ?? .zero
                var hasWrittenMore = false
                for try await hint in fixture.transport.hints(for: [fixture.subject.space]) {
                    try fixture.expect(hint.space == fixture.subject.space, "a hint for \(hint.space)")
                    guard hint.head >= awaited else { continue }
                    if hasWrittenMore { return }
                    let second = try await fixture.apply(client, [fixture.create(fixture.makeRecord())], from: 1)
                    awaited = second.last ?? .zero
                    hasWrittenMore = true
                }
                throw fixture.violation("the stream ended without a hint")
            },
            Check("a stream begins with the heads of its spaces") { fixture in
                let client = fixture.makeClient()
                _ = try await fixture.transport.push(
                    fixture.request(client, [fixture.create(fixture.makeRecord())], from: 0))
                for try await hint in fixture.transport.hints(for: [fixture.subject.space]) {
                    try fixture.expect(hint.space == fixture.subject.space, "a hint for \(hint.space)")
                    return try fixture.expect(hint.head > .zero, "the first hint says \(hint.head)")
                }
                throw fixture.violation("the stream ended without a hint")
            },
        ]
    }
}
