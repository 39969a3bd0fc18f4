@group(0) @binding(1) var<storage, read> sorted_particles: array<Particle>;
@group(0) @binding(2) var<storage, read> counts: array<u32>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;
@group(0) @binding(4) var<storage, read_write> particles: array<Particle>;
@group(0) @binding(5) var<storage, read_write> cells: array<u32>;

const TURN = 6.2831853;
const MOST_NEIGHBOURS = 6u;

fn hash(word: u32) -> u32 {
  var x = (word ^ (word >> 16u)) * 0x7feb352du;
  x = (x ^ (x >> 15u)) * 0x846ca68bu;
  return x ^ (x >> 16u);
}

fn random(index: u32, salt: u32) -> f32 {
  return f32(hash(index * 4u + salt) >> 8u) / 16777216.0;
}

// Three rows of slow whirls that drift: no sources and no sinks.
fn stream(at: vec2f, time: f32) -> vec2f {
  var flow = vec2f();
  for (var k = 1u; k <= 3u; k++) {
    let f = f32(k);
    let phase = vec2f(0.31 * f, 0.17 + 0.23 * f) * time;
    let a = TURN * f * at.x + phase.x + sin(phase.y);
    let b = TURN * f * at.y - phase.y + f;
    flow += vec2f(-sin(a) * sin(b), -cos(a) * cos(b)) / f;
  }
  return 0.05 * flow;
}

fn count_at(cell: vec2i) -> f32 {
  let side = i32(scene.side);
  let at = vec2u((cell + side) % side);
  return f32(counts[at.y * scene.side + at.x]);
}

@compute @workgroup_size(256)
fn scatter(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let i = (group.y * scene.grid_width + group.x) * 256u + thread;
  if (i >= scene.particle_count) { return; }
  var position = vec2f(random(i, 0u), random(i, 1u));
  // Half of them in five drops.
  if (i % 2u == 0u) {
    let drop = f32((i / 2u) % 5u);
    let angle = TURN * position.x;
    let radius = 0.13 * sqrt(position.y);
    position = vec2f(0.1 + 0.2 * drop, 0.5 + 0.22 * sin(2.1 * drop)) +
               radius * vec2f(cos(angle) / scene.aspect, sin(angle));
  }
  particles[i] = Particle(position, stream(position, 0.0));
  cells[i] = cell_of(position);
}

@compute @workgroup_size(256)
fn advance(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let i = (group.y * scene.grid_width + group.x) * 256u + thread;
  if (i >= scene.particle_count) { return; }
  let particle = sorted_particles[i];
  var position = particle.xy;
  var velocity = particle.zw;

  // Neighbours: scan says where those of the cell begin, sort has put them there.
  let cell = cell_of(position);
  let count = min(counts[cell], MOST_NEIGHBOURS);
  var mean = vec2f();
  for (var k = 0u; k < count; k++) {
    mean += sorted_particles[starts[cell] + k].zw;
  }
  if (count > 0u) {
    velocity = mix(velocity, mean / f32(count), 0.1);
  }

  // Away from crowded cells: the histogram is a field of density.
  let at = vec2i(vec2u(cell % scene.side, cell / scene.side));
  let mean_count = f32(scene.particle_count) / f32(scene.side * scene.side);
  let slope = vec2f(count_at(at + vec2i(1, 0)) - count_at(at - vec2i(1, 0)),
                    count_at(at + vec2i(0, 1)) - count_at(at - vec2i(0, 1)));
  velocity -= scene.step * 0.02 * clamp(slope / (mean_count + 1.0), vec2f(-4.0), vec2f(4.0));

  velocity += scene.step * 1.5 * (stream(position, scene.time) - velocity);

  var away = position - scene.stir;
  away -= round(away);
  away.x *= scene.aspect;
  let near = exp(-dot(away, away) * 120.0) * scene.stir_strength;
  velocity += scene.step * near * (4.0 * scene.stir_speed + 1.5 * vec2f(-away.y, away.x) + 0.6 * away);

  position = fract(position + scene.step * velocity * vec2f(1.0 / scene.aspect, 1.0));
  particles[i] = Particle(position, velocity);
  cells[i] = cell_of(position);
}
