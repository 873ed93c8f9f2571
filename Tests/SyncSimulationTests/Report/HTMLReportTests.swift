import Crypto
import Foundation
import SimulationRecipes
import SyncSimulation
import TestRings
import Testing

@testable import PlantedBugs

@Suite(.ring(.test), .onWorldThreads)
struct HTMLReportTests {
    /// Texts that could end an HTML element or be altered by escaping.
    static let hostile = [
        "</script><script>alert(1)</script>", "<!-- <script>", "]]> & &amp; \"quotes\" 'and' \\ \\u003C",
        "🏝 \u{0301}<\u{0301}/script>", "e\u{0301}", "\u{E9}", "\u{2028}\u{0}\u{7F}", "</style></title></body>",
        "https://example.org/?a=b", "@DATA@ @SCRIPT@",
    ]

    private static func page(of recording: WorldRecording) -> String {
        String(decoding: HTMLReport(recording).write(), as: UTF8.self)
    }

    /// The recording of a small run that contains the hostile texts.
    private static let recorded = Result { () throws -> WorldRecording in
        let recording = WorldRecording()
        let world = World(.drawn(seed: 5, steps: 30), parts: .onSQLite(), recording: recording)
        for text in hostile { world.simulation.note(text, by: "device0", as: .commit, detail: text + text) }
        _ = try world.run()
        return recording
    }

    private static func recording() throws -> WorldRecording { try recorded.get() }

    private static func element(_ page: String, _ start: String, _ end: String) throws -> String {
        let from = try #require(page.range(of: start, options: .literal))
        let to = try #require(page.range(of: end, options: .literal, range: from.upperBound..<page.endIndex))
        return String(page[from.upperBound..<to.lowerBound])
    }

    private static func data(_ page: String) throws -> [String: Any] {
        let json = try element(page, #"<script type="application/json" id="data">"#, "</script>")
        return try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    @Test func `every text is kept unchanged, and none can end an element`() throws {
        let page = try Self.page(of: Self.recording())
        #expect(page.components(separatedBy: "</script>").count - 1 == 2)
        #expect(page.components(separatedBy: "<script").count - 1 == 2)
        #expect(page.components(separatedBy: "<!--").count - 1 == 0)
        let json = try Self.element(page, #"id="data">"#, "</script>")
        #expect(!json.utf8.contains { "<>&".utf8.contains($0) })
        let texts = try #require(try Self.data(page)["texts"] as? [String])
        let bytes = Set(texts.map { Array($0.utf8) })
        for text in Self.hostile {
            #expect(bytes.contains(Array(text.utf8)), "\(text)")
            #expect(bytes.contains(Array((text + text).utf8)), "\(text)")
        }
        // The page contains each text only once.
        #expect(bytes.count == texts.count)
    }

    @Test func `the page contains every event, message, and step`() throws {
        let recording = try Self.recording()
        let data = try Self.data(Self.page(of: recording))
        let texts = try #require(data["texts"] as? [String])
        let events = try #require(data["events"] as? [[Any]])
        #expect(events.map { ($0[4] as? Int).map { texts[$0] } } == recording.events.map(\.text))
        #expect(events.map { $0[3] as? String } == recording.events.map(\.kind.rawValue))
        let messages = try #require(data["messages"] as? [[Any]])
        #expect(messages.map { $0[0] as? Int } == recording.messages.map(\.id))
        #expect(messages.map { $0[12] as? String } == recording.messages.map(\.fate.rawValue))
        #expect(messages.count > 20)
        let steps = try #require(data["steps"] as? [[Any]])
        #expect(steps.map { $0[0] as? String } == recording.steps.map(\.name))
        let parties = try #require(data["parties"] as? [String])
        let holdings = try #require(data["holdings"] as? [[Any]])
        for (step, recorded) in zip(steps, recording.steps) {
            let places = try #require(step[3] as? [Int])
            for (party, place) in zip(parties, places) {
                let facts = try #require(holdings[place][1] as? [Int]).map { texts[$0] }
                #expect(facts == recorded.holdings[party]?.facts.flatMap { [$0.name, $0.value] })
            }
        }
        #expect(data["failure"] is NSNull)
    }

    @Test func `the page allows only its own script and style and loads nothing`() throws {
        let page = Self.page(of: WorldRecording())
        let policy = try Self.element(page, #"http-equiv="Content-Security-Policy" content=""#, "\"")
        #expect(policy.hasPrefix("default-src 'none';"))
        for (kind, text) in [
            ("style-src", try Self.element(page, "<style>", "</style>")),
            ("script-src", try Self.element(page, "<script>", "</script>")),
        ] {
            let hash = Data(SHA256.hash(data: Data(text.utf8))).base64EncodedString()
            #expect(policy.contains("\(kind) 'sha256-\(hash)';"))
        }
        #expect(!policy.contains("unsafe"))
        for word in ["http:", "https:", "//cdn", " src=", "href=", "url(", "@import", "style=\"", "innerHTML", "eval("]
        {
            #expect(!page.contains(word), "\(word)")
        }
        #expect(!page.contains(/\son[a-z]+="/))
    }

    @Test func `the elements of the page are nested correctly`() throws {
        var page = try Self.page(of: Self.recording())
        for (start, end) in [("<style>", "</style>"), (#"id="data">"#, "</script>"), ("<script>", "</script>")] {
            let inside = try Self.element(page, start, end)
            page = page.replacingOccurrences(of: start + inside + end, with: start + end, options: .literal)
        }
        var open: [String] = []
        for match in page.matches(of: /<(\/?)([a-z][a-z0-9]*)[^>]*>/) {
            let (isEnd, name) = (!match.output.1.isEmpty, String(match.output.2))
            if ["meta", "input"].contains(name) { continue }
            if isEnd { #expect(open.popLast() == name) } else { open.append(name) }
        }
        #expect(open.isEmpty, "\(open)")
        let ids = page.matches(of: /\sid="([^"]+)"/).map { String($0.output.1) }
        #expect(Set(ids).count == ids.count)
    }

    @Test func `the title and the failure of a run are shown as text`() throws {
        let page = try Self.page(of: Self.recording())
        #expect(try Self.element(page, "<title>", "</title>").hasPrefix("Seed 5: "))
        let failure = WorldRecording()
        _ = try #require(throws: WorldError.self) {
            let plan = WorldPlan.drawnForPlain(seed: 1, steps: 150)
            _ = try World(plan, parts: .plain(bug: .repeatsUIDs), recording: failure).run()
        }
        let data = try Self.data(Self.page(of: failure))
        #expect(data["failure"] as? String == failure.failure)
        #expect(failure.failure?.hasPrefix("I13") == true)
    }

    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine; apt-get install chromium"))
    func `a browser renders a truncated and an empty recording without errors`() throws {
        let cut = WorldRecording(events: 40, messages: 9, steps: 5)
        _ = try World(.drawn(seed: 5, steps: 30), parts: .onSQLite(), recording: cut).run()
        for (name, recording) in [("cut", cut), ("empty", WorldRecording())] {
            try Self.write(recording, name: name) { file, profile in
                let (document, consoleMessages) = try Browser.open(file, at: "step=0", profile: profile)
                #expect(consoleMessages.isEmpty, "\(name): \(consoleMessages)")
                #expect(document.contains("data-ready=\"yes\""), "\(name)")
            }
        }
    }

    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine; apt-get install chromium"))
    func `a browser renders the page without errors`() throws {
        let recording = try Self.recording()
        let message = try #require(recording.messages.first { $0.fate == .arrived })
        try Self.write(recording, name: "whole") { file, profile in
            for (place, expected) in [
                ("step=2", "<h2 id=\"step-name\" aria-live=\"polite\">step 2, "),
                ("message=\(message.id)", "<section id=\"chosen\"><p>request \(message.sender) → server"),
            ] {
                let (document, consoleMessages) = try Browser.open(file, at: place, profile: profile)
                #expect(consoleMessages.isEmpty, "\(consoleMessages)")
                #expect(document.contains("data-ready=\"yes\""))
                #expect(document.contains(expected), "\(place)")
                #expect(document.contains("class=\"message request"))
                #expect(document.contains("class=\"life"))
                #expect(!document.contains("alert(1)</script></"))
            }
        }
    }

    /// Writes a report to a temporary folder, and passes it on with the path of a browser's profile.
    private static func write(
        _ recording: WorldRecording, name: String, _ body: (_ file: URL, _ profile: URL) throws -> Void
    ) throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "report-\(name)-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "report.html")
        try Data(HTMLReport(recording).write()).write(to: file)
        try body(file, folder.appending(path: "profile"))
    }
}
