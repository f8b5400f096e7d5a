package dev.miniapi.junit5;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.TRUNCATE_EXISTING;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URLConnection;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.zip.GZIPInputStream;

/**
 * The archive with a version of the program for this system.
 *
 * @param version the version, such as v1.2.3
 * @param archive the name of the archive
 * @param sum the SHA-256 sum of the archive
 * @param place the URL or the folder of the releases
 * @param patience the time without any data after which a download fails
 */
record Release(String version, String archive, String sum, String place, Duration patience) {
    /** The place of the releases by default. */
    static final String PUBLISHED = "https://github.com/miniapi-dev/miniapi/releases/download";

    /** The size above which an archive isn't the program's. */
    private static final long LARGEST = 256 << 20;

    /** The size of a header in an archive. Files are padded to a multiple of it. */
    private static final int BLOCK = 512;

    /** The time between two lines about the progress. */
    private static final Duration TELL_EVERY = Duration.ofSeconds(10);

    /**
     * Returns the lines of the client's checksums.txt, which are the SHA-256 sums and the names of the archives. A checkout
     * has none. The script pack writes them.
     */
    static String checksums() {
        try (InputStream file = Release.class.getResourceAsStream("checksums.txt")) {
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the release of a version, unless the checksums lack its archive, or $MINIAPI_RELEASES is "off". */
    static Optional<Release> of(Map<String, String> environment, String version, String checksums) {
        String system =
                System.getProperty("os.name").split(" ")[0].toLowerCase().replace("mac", "darwin");
        String processor =
                System.getProperty("os.arch").replace("x86_64", "amd64").replace("aarch64", "arm64");
        String archive = "miniapi_%s_%s_%s.tar.gz".formatted(version, system, processor);
        String named = environment.getOrDefault("MINIAPI_RELEASES", "");
        return checksums
                .lines()
                .filter(line -> line.endsWith("  " + archive) && !named.equals("off"))
                .map(line -> line.split(" ")[0])
                .map(sum -> new Release(
                        "v" + version, archive, sum, named.isEmpty() ? PUBLISHED : named, Duration.ofSeconds(30)))
                .findFirst();
    }

    /**
     * Downloads the program to a path. If others do so at the same time, one downloads it, and the others wait. Processes
     * wait for the lock of a file. Threads of one process can't, so they wait for an interned string, which all class
     * loaders have in common.
     */
    Path install(Path program) {
        synchronized (program.toString().intern()) {
            try {
                Files.createDirectories(program.getParent());
                try (var lock = FileChannel.open(program.resolveSibling("lock"), CREATE, WRITE)) {
                    if (lock.tryLock() == null) {
                        System.err.printf("miniapi: another process downloads miniapi %s: waiting%n", version);
                        lock.lock();
                    }
                    if (!Files.isRegularFile(program)) {
                        put(program);
                    }
                }
                return program;
            } catch (IOException | NoSuchAlgorithmException | IllegalArgumentException e) {
                throw failed(e.toString(), e);
            }
        }
    }

    private MiniapiException failed(String reason, Exception cause) {
        return new MiniapiException(
                redacted("downloading " + what() + ": " + reason
                        + "; set $MINIAPI_RELEASES to another place of miniapi's releases, or $MINIAPI to the path of a miniapi"
                        + " of version " + version),
                cause);
    }

    /** Returns the name of the program in messages, with the place of its release. */
    private String what() {
        return redacted("miniapi " + version + " from " + place);
    }

    /** Returns a text without the passwords of URLs. */
    private static String redacted(String text) {
        return text.replaceAll("//([^/:@\\s]*):[^/\\s]*@", "//$1:xxxxx@");
    }

    /**
     * Puts the program into a subfolder, and then moves it, so an incomplete program never has its path. The Go fixture
     * may have a lock of another kind at the same time, so the subfolder isn't one that it removes.
     */
    private void put(Path program) throws IOException, NoSuchAlgorithmException {
        long began = System.nanoTime();
        System.err.printf("miniapi: downloading %s, once, for servers of tests%n", what());
        Path unfinished = Files.createDirectories(program.resolveSibling("unfinished"));
        Path packed = unfinished.resolve(archive);
        Path unpacked = unfinished.resolve(program.getFileName());
        try {
            download(packed);
            try {
                unpack(packed, unpacked);
            } catch (IOException e) {
                throw failed("unpacking " + archive + ": " + e, e);
            }
            Files.move(unpacked, program, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(packed);
            Files.deleteIfExists(unpacked);
            Files.delete(unfinished);
        }
        System.err.printf("miniapi: downloaded %s in %.1fs%n", what(), (System.nanoTime() - began) / 1e9);
    }

    /** Returns the address of the archive. A folder may be that of one release, with the archive itself. */
    private URI address() {
        if (place.matches("https?://.+")) {
            return URI.create(place.replaceFirst("/+$", "") + "/" + version + "/" + archive);
        }
        Path alone = Path.of(place, archive);
        if (!alone.isAbsolute()) {
            throw failed(
                    "$MINIAPI_RELEASES is \"" + place
                            + "\": the value must be an http or https URL, the absolute path of a folder, or \"off\"",
                    null);
        }
        return (Files.exists(alone) ? alone : Path.of(place, version, archive)).toUri();
    }

    private URLConnection open(URI address) throws IOException {
        URLConnection connection = address.toURL().openConnection();
        connection.setConnectTimeout((int) patience.toMillis());
        connection.setReadTimeout((int) patience.toMillis());
        if (address.getUserInfo() != null) {
            byte[] login = address.getUserInfo().getBytes(StandardCharsets.UTF_8);
            connection.setRequestProperty(
                    "Authorization", "Basic " + Base64.getEncoder().encodeToString(login));
        }
        if (connection instanceof HttpURLConnection http && http.getResponseCode() != HttpURLConnection.HTTP_OK) {
            throw new IOException("the server answers " + http.getResponseCode() + " " + http.getResponseMessage());
        }
        return connection;
    }

    /** Writes the archive to a file, and compares its sum. */
    private void download(Path to) throws IOException, NoSuchAlgorithmException {
        URI address = address();
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        long done = 0;
        try {
            URLConnection connection = open(address);
            long size = connection.getContentLengthLong();
            long told = System.nanoTime();
            try (InputStream body = connection.getInputStream();
                    OutputStream file = Files.newOutputStream(to)) {
                byte[] buffer = new byte[1 << 16];
                for (int n; (n = body.read(buffer)) >= 0; ) {
                    done += n;
                    if (done > LARGEST) {
                        throw new IOException("it has more than 256 MiB, and isn't the released archive");
                    }
                    file.write(buffer, 0, n);
                    digest.update(buffer, 0, n);
                    if (System.nanoTime() - told > TELL_EVERY.toNanos()) {
                        told = System.nanoTime();
                        System.err.printf("miniapi: downloading %s: %d MB%n", what(), done / 1_000_000);
                    }
                }
            }
            if (done < size) {
                throw new EOFException("it has " + size + " bytes");
            }
        } catch (IOException e) {
            Object reason = e instanceof SocketTimeoutException
                    ? "no data for " + patience.toString().substring(2).toLowerCase()
                    : e;
            throw failed(address + ", after " + done + " bytes: " + reason, e);
        }
        String actual = HexFormat.of().formatHex(digest.digest());
        if (!actual.equals(sum)) {
            throw failed(
                    address + " has the SHA-256 sum " + actual + ", but that of miniapi " + version + " is " + sum,
                    null);
        }
    }

    /** Writes the program in an archive to a file. */
    private static void unpack(Path packed, Path to) throws IOException {
        try (var files = new DataInputStream(new GZIPInputStream(Files.newInputStream(packed)))) {
            byte[] header = new byte[BLOCK];
            while (true) {
                files.readFully(header);
                String name = new String(header, 0, 100, StandardCharsets.UTF_8).trim();
                if (name.isEmpty()) {
                    throw new IOException("the archive has no file " + to.getFileName());
                }
                long size = Long.parseLong(new String(header, 124, 12, StandardCharsets.UTF_8).trim(), 8);
                if (Path.of(name).endsWith(to.getFileName()) && header[156] == '0') {
                    try (FileChannel program = FileChannel.open(to, CREATE, TRUNCATE_EXISTING, WRITE)) {
                        if (program.transferFrom(Channels.newChannel(files), 0, size) < size) {
                            throw new EOFException();
                        }
                    }
                    to.toFile().setExecutable(true, false);
                    return;
                }
                files.skipNBytes((size + BLOCK - 1) / BLOCK * BLOCK);
            }
        }
    }
}
