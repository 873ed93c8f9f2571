import Foundation

/// A self-signed certificate for `localhost` that the openssl program creates for one test.
struct TestCertificate {
    private let folder: URL
    var certificate: String { folder.appending(path: "certificate.pem").path(percentEncoded: false) }
    var key: String { folder.appending(path: "key.pem").path(percentEncoded: false) }

    struct NotMade: Error {
        let status: Int32
    }

    static func make() throws -> TestCertificate {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tombolo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let files = TestCertificate(folder: folder)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", files.key,
            "-out", files.certificate,
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw NotMade(status: process.terminationStatus) }
        } catch {
            files.remove()
            throw error
        }
        return files
    }

    func remove() {
        try? FileManager.default.removeItem(at: folder)
    }
}
