import CLibFuzzer
import ForeignBytes
import Glibc

/// Searches for inputs for which a decoder violates a required property, using libFuzzer.
///
/// ```
/// syncfuzz list                      prints the names of the decoders
/// syncfuzz seeds DECODER FOLDER      writes the valid inputs from which a search starts to the folder
/// syncfuzz run DECODER ARGUMENT...   searches; the arguments are libFuzzer's: folders, files, and -options
/// ```
@main
struct Syncfuzz {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "list" where arguments.count == 1:
            for decoder in ForeignDecoder.all { print(decoder.name) }
        case "seeds" where arguments.count == 3:
            do {
                for (index, bytes) in try decoder(arguments[1]).seeds().enumerated() {
                    try save(bytes, to: "\(arguments[2])/seed-\(index)")
                }
            } catch {
                stop("\(arguments[2]): \(error)")
            }
        case "run" where arguments.count >= 2:
            chosen = decoder(arguments[1]).check
            exit(search([CommandLine.arguments[0]] + arguments.dropFirst(2)))
        default:
            stop("expected list, seeds DECODER FOLDER, or run DECODER and arguments of libFuzzer")
        }
    }

    /// The function that libFuzzer's callback calls, because the callback cannot capture context. It is set once,
    /// before libFuzzer starts.
    nonisolated(unsafe) private static var chosen: (@Sendable ([UInt8]) throws -> Void)?

    private static func decoder(_ name: String) -> ForeignDecoder {
        guard let decoder = ForeignDecoder.all.first(where: { $0.name == name }) else {
            stop("there is no decoder '\(name)'; syncfuzz list names them")
        }
        return decoder
    }

    /// Runs libFuzzer with command-line arguments.
    private static func search(_ arguments: [String]) -> Int32 {
        var count = Int32(arguments.count)
        var texts: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        return texts.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            return LLVMFuzzerRunDriver(&count, &start) { bytes, count in
                do {
                    try Syncfuzz.chosen?(Array(UnsafeBufferPointer(start: bytes, count: count)))
                } catch {
                    // The trap makes libFuzzer save the bytes.
                    fatalError("\(error)")
                }
                return 0
            }
        }
    }

    private static func save(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "wb") else { stop("\(path) cannot be created") }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { stop("\(path) cannot be written") }
    }

    private static func stop(_ message: String) -> Never {
        let line = Array("syncfuzz: \(message)\n".utf8)
        _ = Glibc.write(STDERR_FILENO, line, line.count)
        exit(64)
    }
}
