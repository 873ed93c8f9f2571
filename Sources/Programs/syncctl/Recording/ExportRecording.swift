import ArgumentParser
import Foundation
import SyncBootstrap
import SyncCore
import SyncProgram
import SyncRecording

struct ExportRecording: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write the recorded events to standard output or a file, for syncctl replay.",
        discussion: """
            The recording contains no values of records, no tokens, no addresses, and no error texts; the names of \
            cursors, epochs, spaces, and accounts are replaced. It is safe to share.
            """)

    @OptionGroup var options: GlobalOptions
    @Option(
        help: ArgumentHelp("New file to write to, instead of standard output.", valueName: "file"), completion: .file())
    var to: String?

    func run() async throws {
        let (segments, now, capacity) = try await options.withClient { client in
            (try client.recordings.recording(), client.runtime.now(), client.settings.recorderEvents)
        }
        let reader = RingReader(segments)
        let terminal = options.terminal
        for problem in reader.problems {
            terminal.note("part of the recording is unreadable and was skipped: \(problem)")
        }
        guard !reader.entries.isEmpty else {
            throw CommandError(
                .failed, "nothing is recorded", advice: capacity == 0 ? "set recorder.events and sync" : "sync first")
        }
        let recording = Recording(
            header: RecordingHeader(exportedAt: now, build: ProgramVersion.text, schema: ProgramVersion.localSchema),
            entries: reader.entries)
        let bytes = RecordingFile.bytes(recording)
        guard let to else {
            terminal.say(TerminalText(document: String(decoding: bytes.dropLast(), as: UTF8.self)))
            return
        }
        try Self.write(bytes, to: to)
        if terminal.isJSON {
            var line = JSONLine()
            line.set("file", to)
            line.set("events", recording.turnCount)
            terminal.say(line)
        } else {
            terminal.say("\(recording.turnCount) events written to \(to)")
        }
    }

    /// Writes a new file that only its owner can read. Throws if the file exists.
    private static func write(_ bytes: [UInt8], to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            throw CommandError(
                code == EEXIST ? .failed : .machine, "\(path) cannot be created: \(String(cString: strerror(code)))",
                advice: code == EEXIST ? "choose a file that does not exist yet" : nil)
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: bytes)
            try handle.synchronize()
        } catch {
            throw CommandError(.machine, "\(path) cannot be written: \(error)")
        }
    }
}
