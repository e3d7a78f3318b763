// As raster/light.py and raster/surface.py.
in vec2 lit;
#ifdef TEXTURED
in vec2 uv;
uniform sampler2DArray pictures;
uniform float edge; // texels of a picture
#endif
flat in vec4 finish;
flat in vec3 plain;
flat in ivec2 ids;
uniform sampler2D shelter; // how little of the sky the ground sees near what stands on it, over 64 m
#ifdef SHADOWS
uniform sampler2DShadow shadow;
#endif
#ifdef MIRROR
uniform sampler2D mirror;
uniform sampler2D mirror_far;

vec3 squared(vec2 spot) {
    vec3 root = textureLod(mirror, spot, 0.0).rgb;
    return 4.0 * root * root;
}

// Puddles mirror clearly; rough wet ground draws what it mirrors out along the picture.
vec3 in_mirror(vec2 spot, bool clearly) {
    if (clearly) return squared(spot);
    vec3 total = vec3(0.0);
    for (int k = -4; k <= 4; ++k) total += (5.0 - abs(float(k))) * squared(spot + vec2(0.0, float(k) / 5.0 / 18.0));
    return total / 25.0;
}
#endif

#ifdef TEXTURED
// The mip level of the mean of a pixel's longer and shorter side, but no more than 1.5 levels finer than the longer
// side asks for: sharp on ground seen at a grazing angle. All logarithms are taken at once.
vec3 picture() {
    vec2 across = edge * dFdx(uv), down = edge * dFdy(uv);
    float a = dot(across, across), b = dot(down, down), longer = max(a, b);
    float level = 0.25 * log2(max(a * b, longer * longer / 64.0) + 1e-20);
    vec3 root = textureLod(pictures, vec3(uv, finish.w), floor(level + 0.35)).rgb;
    return root * root;
}
#endif

#ifdef SHADOWS
// The more a surface turns away from the sun, the higher the map must be to shade it.
float share_of_sun(vec3 place, float facing) {
    vec3 spot = on_shadow_map(place);
    spot.z -= shadow_size.w / max(facing, 0.12);
    float texel = 1.0 / shadow_size.x, rim = float(TAPS) * texel;
    if (any(lessThan(spot.xy, vec2(rim))) || any(greaterThan(spot.xy, vec2(1.0 - rim)))) return 1.0;
#if TAPS == 1
    float share = texture(shadow, spot);
#else
    float share = 0.0;
    for (int j = 0; j < TAPS; ++j)
        for (int i = 0; i < TAPS; ++i)
            share += texture(shadow, vec3(spot.xy + texel * vec2(i - TAPS / 2, j - TAPS / 2), spot.z));
    share /= float(TAPS * TAPS);
#endif
    return 1.0 - shadow_size.y * (1.0 - share);
}
#endif

#ifdef LAMPS
// Lambert, square law, cone, nothing beyond the reach.
vec3 lamp_light(vec3 place, vec3 normal) {
    vec3 total = vec3(0.0);
    for (int k = 0; k < int(eye.w); ++k) {
        vec4 at = lamps[3 * k], along = lamps[3 * k + 1];
        vec3 d = at.xyz - place;
        float d2 = dot(d, d), reach2 = at.w * at.w;
        if (d2 >= reach2) continue;
        float inverse = inversesqrt(d2 + 1e-4);
        float facing = dot(normal, d) * inverse * 0.85 + 0.15;
        float cone = (-dot(along.xyz, d) * inverse - along.w) / (1.0 - along.w) * 2.0;
        if (facing <= 0.0 || cone <= 0.0) continue;
        cone = min(cone, 1.0);
        float window = 1.0 - d2 / reach2;
        total += facing * cone * cone * window * window / (1.0 + d2) * lamps[3 * k + 2].rgb;
    }
    return total;
}
#endif

#ifdef WANT_rgb
// Unit normal of the face, toward the camera.
vec3 face_normal(vec3 place, vec3 way) {
    vec3 normal = cross(dFdx(place), dFdy(place));
    return normal * -sign(dot(normal, way)) * inversesqrt(dot(normal, normal) + 1e-30);
}

vec3 leaving(float depth) {
    vec3 way = ray(), place = depth * way;
#ifdef TEXTURED
    vec3 colour = picture();
#else
    vec3 colour = plain;
#endif
#if defined(LAMPS) || defined(WET)
    vec3 normal = face_normal(place, way);
#endif
    float bright = max(lit.x, 0.0), open = clamp(lit.y, 0.0, 1.0);
#ifdef SHADOWS
    if (bright > 0.0) bright *= share_of_sun(place, bright);
#endif
    float low = clamp(1.0 - (eye.z + place.z) / 0.7, 0.0, 1.0);
    vec2 spot = (place.xy - size.zw) / 64.0;
    float near = all(lessThan(abs(spot - 0.5), vec2(0.499))) ? textureLod(shelter, spot, 0.0).r : 0.0;
    float dark = 1.0 - low * low * (sky_rgb.w * (1.0 - open) + near * open * open);
    vec3 light = colour * (dark * mix(bounce_rgb.rgb, sky_rgb.rgb, open) + bright * sun_rgb.rgb);
#ifdef LAMPS
    light += colour * lamp_light(place, normal);
#endif
#ifdef WET
    float wet = bounce_rgb.w * finish.z;
    bool watery = wet > 0.0 && normal.z > 0.8;
    light *= 1.0 - 0.42 * wet;
#else
    const bool watery = false;
#endif
    light += finish.y * sun_rgb.w * colour;
    if (watery || finish.x > 0.0) {
#if !defined(LAMPS) && !defined(WET)
        vec3 normal = face_normal(place, way); // all pixels of a face come here or none: derivatives are defined
#endif
        vec3 d = normalize(way);
        float facing = max(-dot(d, normal), 0.0), rest = 1.0 - facing;
        float fresnel = 0.04 + 0.96 * rest * rest * rest * rest * rest;
        vec3 seen;
#ifdef WET
        if (watery) {
            float puddle = noise_at((place.xy + eye.xy) / 0.45);
            fresnel = (0.8 * fresnel + 0.08) * wet * (0.22 + 0.78 * clamp((puddle - 0.42) * 6.0, 0.0, 1.0));
#ifdef MIRROR
            // Ground over the plane shows what is mirrored so many pixels lower as its depth says.
            vec2 spot = vec2(gl_FragCoord.x + 6.0 * (puddle - 0.5), gl_FragCoord.y) / size.xy;
            float away = textureLod(mirror_far, spot, 0.0).r, lift = eye.z - up.w + place.z;
            spot.y += 2.0 * lift * lens.y / away / size.y;
            seen = in_mirror(spot, clamp((puddle - 0.42) * 6.0, 0.0, 1.0) > 0.5);
#else
            seen = sky_colour(d + 2.0 * facing * normal);
#endif
        } else
#endif
        {
            fresnel *= finish.x;
            seen = sky_colour(d + 2.0 * facing * normal);
        }
        light += (seen - light) * fresnel;
    }
    return light;
}
#endif

void main() {
    float depth = 1.0 / gl_FragCoord.w;
#ifdef WANT_rgb
    out_rgb = filmed(leaving(depth), depth);
#endif
#ifdef WANT_depth
    out_depth = ids.x == 1 ? uintBitsToFloat(0x7f800000u) : depth; // scenery of class sky is infinitely far
#endif
#ifdef WANT_semantic
    out_semantic = uint(ids.x);
#endif
#ifdef WANT_instance
    out_instance = ids.y;
#endif
}
