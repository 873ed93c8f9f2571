import Foundation
import Glibc

/// A server and its devices on loopback. Each has a folder and real processes, and each device connects through a
/// proxy.
///
/// All of it ends with `end()` or when this object is deallocated.
final class Testbed: Sendable {
    let folder: String
    let server: Server
    let devices: [Device]
    let variables: [String: String]

    /// - Parameters:
    ///   - seed: The seed of the proxies' random choices.
    ///   - isEncrypted: Whether the server uses TLS.
    ///   - startsServer: Whether to start the server. If false, the test creates the tokens and starts it later.
    init(
        devices names: [String], seed: UInt64 = 1, isEncrypted: Bool = false,
        startsServer: Bool = true, settings: [String: String] = [:]
    ) throws {
        let folder = NSTemporaryDirectory() + "tombolo-box-\(UUID().uuidString.prefix(13))"
        self.folder = folder
        // The programs inherit the options of sanitizers.
        let inherited = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
        let own = [
            "HOME": folder, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "SYNCCTL_ENVIRONMENT": "test",
            "SYNCD_ENVIRONMENT": "test",
            "NO_COLOR": "1",
            "SWIFT_BACKTRACE": "enable=no",
        ]
        let variables = inherited.merging(own) { $1 }.merging(settings) { $1 }
        self.variables = variables
        // If a later step of this initializer throws, no `deinit` runs, so the started server must be ended explicitly.
        var started: Server?
        do {
            for part in ["logs", "server"] {
                try FileManager.default.createDirectory(
                    atPath: "\(folder)/\(part)", withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
            }
            let certificate = isEncrypted ? try Self.makeCertificate(folder) : nil
            let server = try Server(
                folder: "\(folder)/server", logs: "\(folder)/logs", variables: variables, certificate: certificate)
            started = server
            if startsServer {
                for name in names { try server.addToken(name, to: "\(folder)/\(name).token") }
                try server.start()
            }
            devices = try names.enumerated().map { index, name in
                let proxy = try ByteProxy(upstream: server.port, seed: seed &* 31 &+ UInt64(index))
                return try Device(
                    name, folder: "\(folder)/\(name)", logs: "\(folder)/logs", variables: variables, proxy: proxy,
                    token: "\(folder)/\(name).token", certificate: certificate?.certificate)
            }
            self.server = server
        } catch {
            started?.end(SIGKILL)
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    deinit { end() }

    /// Ends all processes and proxies, and removes the folder.
    func end() {
        stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Ends all processes and proxies.
    func stop() {
        for device in devices {
            device.endWatch(SIGKILL)
            device.proxy.stop()
        }
        server.end(SIGKILL)
    }

    private static func makeCertificate(_ folder: String) throws -> (certificate: String, key: String) {
        let files = (certificate: folder + "/certificate.pem", key: folder + "/key.pem")
        let openssl = try Child(
            "openssl",
            [
                "/usr/bin/env", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", files.key, "-out", files.certificate,
            ], variables: ["PATH": "/usr/bin:/bin", "HOME": folder], log: folder + "/logs/openssl")
        try require(try openssl.wait(atMost: .processTimeout) == 0, "openssl: \(openssl.errors)")
        return files
    }
}

/// Runs a scenario on a new thread with a new testbed, and then ends the testbed.
///
/// - Parameters:
///   - startsServer: Whether to start the server. If false, the scenario creates the tokens and starts it.
///   - makesDatabases: Whether to create the devices' databases. If false, the scenario creates them.
func inTestbed(
    devices: [String] = ["laptop", "phone"], isEncrypted: Bool = false, startsServer: Bool = true,
    makesDatabases: Bool = true, settings: [String: String] = [:],
    _ scenario: @escaping @Sendable (_ testbed: Testbed, _ ledger: Ledger, _ writers: [Writer]) throws -> Void
) async throws {
    try await onOwnThread {
        let testbed = try Testbed(
            devices: devices, isEncrypted: isEncrypted, startsServer: startsServer, settings: settings)
        defer { testbed.end() }
        let ledger = Ledger()
        if makesDatabases { for device in testbed.devices { try device.expect(0, "init") } }
        try scenario(testbed, ledger, testbed.devices.map { Writer(device: $0, ledger: ledger) })
    }
}
