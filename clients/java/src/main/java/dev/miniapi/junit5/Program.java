package dev.miniapi.junit5;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** The miniapi program. */
final class Program {
    private static final String SYSTEM = System.getProperty("os.name");
    private static final String EXECUTABLE = SYSTEM.startsWith("Windows") ? "miniapi.exe" : "miniapi";

    private Program() {}

    /**
     * Returns the path of the program: $MINIAPI, or the program of a version in the user's cache, or one on the PATH, or
     * that of the version's release, which is downloaded into the cache. The version is null where the client isn't run
     * from its archive.
     *
     * @param checksums the sums of the release's archives
     */
    static Path find(Map<String, String> environment, String version, String checksums) {
        String named = environment.getOrDefault("MINIAPI", "");
        Stream<String> path = Stream.of(environment.getOrDefault("PATH", "").split(File.pathSeparator));
        Path cached = cache(environment).resolve("miniapi/fixture/v" + version).toAbsolutePath();
        Stream<Path> folders = Stream.concat(Stream.of(cached).filter(folder -> version != null), path.map(Path::of));
        List<Path> candidates = named.isEmpty()
                ? folders.map(folder -> folder.resolve(EXECUTABLE).toAbsolutePath())
                        .toList()
                : List.of(Path.of(named).toAbsolutePath());
        Optional<Path> found = candidates.stream()
                .filter(candidate -> Files.isRegularFile(candidate) && Files.isExecutable(candidate))
                .findFirst();
        if (found.isEmpty() && named.isEmpty()) {
            found = Release.of(environment, version, checksums)
                    .map(release -> release.install(cached.resolve(EXECUTABLE)));
        }
        return found.orElseThrow(() -> new MiniapiException(
                "no miniapi program is at " + candidates
                        + ": install miniapi, or set $MINIAPI to the path of the program",
                null));
    }

    /** Returns the folder in which the user's programs keep what they can make again. */
    private static Path cache(Map<String, String> environment) {
        String home = environment.getOrDefault("HOME", "");
        if (SYSTEM.startsWith("Windows")) {
            return Path.of(environment.getOrDefault("LOCALAPPDATA", ""));
        }
        String named = environment.getOrDefault("XDG_CACHE_HOME", "");
        return SYSTEM.startsWith("Mac")
                ? Path.of(home, "Library/Caches")
                : named.isEmpty() ? Path.of(home, ".cache") : Path.of(named);
    }
}
